"""Says why a match was won or lost: values of its positions, the moves that changed them, and sentences. No Django."""
