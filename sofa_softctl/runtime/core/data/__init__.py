"""Data of components: values, types, and views for Python."""
