"""Components that write states into files and read them again."""
