"""What no domain owns: compiled code, threads, processes, files."""
