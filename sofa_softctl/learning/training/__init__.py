"""Training by stable-baselines3 (extra [rl]): settings, checkpoints, curves, scores."""
