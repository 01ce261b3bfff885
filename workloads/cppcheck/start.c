int f(int *p) { int a[2]; a[2] = *p; return p ? a[0] : 0; }
