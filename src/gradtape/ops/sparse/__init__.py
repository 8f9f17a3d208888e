"""Sparse tensors: the elements that are there, with their places. Made of operations on the values: gradients flow."""
