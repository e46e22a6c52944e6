"""Parts of scenes: headers, solvers, deformable and rigid objects, constraints, visual models."""
