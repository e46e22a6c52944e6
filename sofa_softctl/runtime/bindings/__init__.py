"""What `import Sofa` answers."""
