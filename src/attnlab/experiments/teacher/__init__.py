"""What the experiments on teachers and students share."""
