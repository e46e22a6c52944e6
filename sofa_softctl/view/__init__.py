"""Tables, plots, movies and pages."""
