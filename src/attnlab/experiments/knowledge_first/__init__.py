"""Knowledge first."""
