"""The problems that come with the package."""
