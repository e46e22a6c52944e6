"""Data of components: values, types, and how Python sees them."""
