"""Files, images, records, examples, sound. Imports `core` and `ops`; other libraries when first used."""
