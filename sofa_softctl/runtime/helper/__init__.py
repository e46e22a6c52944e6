"""What every object of a scene uses: messages, timers, paths of files."""
