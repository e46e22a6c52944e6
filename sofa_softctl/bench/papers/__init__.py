"""The papers' tables and studies."""
