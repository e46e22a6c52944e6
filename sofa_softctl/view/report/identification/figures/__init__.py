"""Figures of identification reports, as inline SVG."""
