"""Policies, and the controller that lets a policy drive a scene."""
