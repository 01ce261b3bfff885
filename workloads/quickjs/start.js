print([3, 1, 2].sort().map(x => `n${x}`).join(" "));
