"""Pictures and movies of scenes."""
