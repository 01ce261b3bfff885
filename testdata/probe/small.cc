// SPDX-License-Identifier: MIT OR Apache-2.0
struct Guard {
	~Guard();
};
int thrower(int n);

int guarded(int n)
{
	Guard guard;
	return thrower(n);
}

template <typename T> T twice(T value)
{
	return thrower(value) * 2;
}
template int twice<int>(int);
