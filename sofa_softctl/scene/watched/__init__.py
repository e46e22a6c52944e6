"""Components of a run that `scene.condition` watches: joints, contacts, materials, solvers."""
