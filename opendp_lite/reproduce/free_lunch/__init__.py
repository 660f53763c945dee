"""The experiments of Fitzsimons, Honaker, Shoemate, Singhal 2024 (Free Lunch), run again."""
