"""Operations that create, move and pick elements."""
