"""Topic ablation."""
