"""What trains: optimizers."""
