"""Components that write meshes into files."""
