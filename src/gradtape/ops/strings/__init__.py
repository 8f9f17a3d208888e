"""Operations on strings, on the host: XLA has no strings, so they run while a @function is traced, or outside of it."""
