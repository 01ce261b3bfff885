struct A { ~A(); int *p; }; A::~A() { delete p; }
