"""What varying stacks and settings showed, in each format."""
