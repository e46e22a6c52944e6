"""Plans of scenes: their tasks, files, replays and the controller."""
