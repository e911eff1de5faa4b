"""What each choice that text and released code leave open does to the agreement."""
