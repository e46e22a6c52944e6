"""The process that sends commands to devices at a fixed rate, and its link to the scene."""
