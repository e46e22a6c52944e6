"""Flexible loop, stretched, bent and twisted by an arm: the experiment of [CCC14]."""
