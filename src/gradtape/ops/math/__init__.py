"""Operations on elements, reductions, sorting, special functions."""
