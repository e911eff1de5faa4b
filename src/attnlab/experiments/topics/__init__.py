"""What the experiments on P1's synthetic task share: `runs`."""
