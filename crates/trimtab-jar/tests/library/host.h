#include "trimtab.h"

int java_add(int a, int b);
double java_mix(int a, double b, long long c, float d);
float java_half(float a);
int java_length(const char *text);
java_object java_make(const char *text);
int java_size(java_object list);
void java_fail(int how);
int java_again(int depth);
