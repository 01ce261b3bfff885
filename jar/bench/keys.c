/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program does that encrypts a file by a public key: keys are agreed on (X25519, RFC 7748), the text is encrypted by that
 * (ChaCha20, RFC 8439), restored and hashed. With OUTPUT, a name, both texts are written to a file, a byte at a time. */
#include "rounds.h"

#define LIMBS 10
#define SIZE 1000000
typedef int64_t field[LIMBS];

/* Numbers modulo 2^255 - 19, in limbs of 26 and 25 bits in turn. */
static int bits(int limb)
{
	return limb & 1 ? 25 : 26;
}

static void carry(int64_t *x)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < LIMBS; i++) {
			int64_t over = x[i] >> bits(i);
			x[i] -= over << bits(i);
			x[(i + 1) % LIMBS] += i == LIMBS - 1 ? 19 * over : over;
		}
	}
}

static void multiply(field to, const field a, const field b)
{
	int64_t product[LIMBS] = { 0 };
	for (int i = 0; i < LIMBS; i++)
		for (int j = 0; j < LIMBS; j++) {
			/* Two limbs of 25 bits are half a bit further each than the place they are added to. */
			int64_t part = (int64_t)(int32_t)a[i] * (int32_t)b[j] * (i & j & 1 ? 2 : 1);
			product[(i + j) % LIMBS] += i + j >= LIMBS ? 19 * part : part;
		}
	carry(product);
	memcpy(to, product, sizeof product);
}

static void add(field to, const field a, const field b)
{
	for (int i = 0; i < LIMBS; i++)
		to[i] = a[i] + b[i];
	carry(to);
}

static void subtract(field to, const field a, const field b)
{
	for (int i = 0; i < LIMBS; i++)
		to[i] = a[i] - b[i];
	carry(to);
}

static void swap(field a, field b, int really)
{
	for (int i = 0; i < LIMBS; i++) {
		int64_t both = (a[i] ^ b[i]) & -(int64_t)really;
		a[i] ^= both;
		b[i] ^= both;
	}
}

/* To the power of 2^255 - 21: the inverse. */
static void invert(field to, const field x)
{
	field power;
	memcpy(power, x, sizeof power);
	for (int bit = 253; bit >= 0; bit--) {
		multiply(power, power, power);
		if (bit != 2 && bit != 4)
			multiply(power, power, x);
	}
	memcpy(to, power, sizeof power);
}

static void unpack(field to, const unsigned char *from)
{
	int at = 0;
	for (int i = 0; i < LIMBS; i++) {
		to[i] = 0;
		for (int bit = 0; bit < bits(i) && at < 255; bit++, at++)
			to[i] |= (int64_t)(from[at / 8] >> at % 8 & 1) << bit;
	}
}

static void pack(unsigned char *to, field x)
{
	carry(x);
	/* Below the modulus, and not negative. */
	for (int round = 0; round < 2; round++) {
		int64_t over = (x[0] + 19) >> 26;
		for (int i = 1; i < LIMBS; i++)
			over = (x[i] + over) >> bits(i);
		x[0] += 19 * over;
		for (int i = 0; i < LIMBS; i++) {
			over = x[i] >> bits(i);
			x[i] -= over << bits(i);
			if (i < LIMBS - 1)
				x[i + 1] += over;
		}
	}
	int at = 0;
	memset(to, 0, 32);
	for (int i = 0; i < LIMBS; i++)
		for (int bit = 0; bit < bits(i) && at < 255; bit++, at++)
			to[at / 8] |= (x[i] >> bit & 1) << at % 8;
}

static void x25519(unsigned char *to, const unsigned char *secret, const unsigned char *point)
{
	static const field small = { 121665 };
	field x1, x2 = { 1 }, z2 = { 0 }, x3, z3 = { 1 }, a, aa, b, bb, e, c, d;
	unsigned char key[32];
	memcpy(key, secret, 32);
	key[0] &= 248;
	key[31] = (key[31] & 127) | 64;
	unpack(x1, point);
	memcpy(x3, x1, sizeof x3);
	int swapped = 0;
	for (int bit = 254; bit >= 0; bit--) {
		int now = key[bit / 8] >> bit % 8 & 1;
		swap(x2, x3, swapped ^ now);
		swap(z2, z3, swapped ^ now);
		swapped = now;
		add(a, x2, z2);
		multiply(aa, a, a);
		subtract(b, x2, z2);
		multiply(bb, b, b);
		subtract(e, aa, bb);
		add(c, x3, z3);
		subtract(d, x3, z3);
		multiply(d, d, a);
		multiply(c, c, b);
		add(x3, d, c);
		multiply(x3, x3, x3);
		subtract(z3, d, c);
		multiply(z3, z3, z3);
		multiply(z3, z3, x1);
		multiply(x2, aa, bb);
		multiply(z2, e, small);
		add(z2, z2, aa);
		multiply(z2, z2, e);
	}
	swap(x2, x3, swapped);
	swap(z2, z3, swapped);
	invert(z2, z2);
	multiply(x2, x2, z2);
	pack(to, x2);
}

static uint32_t rotate(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

static void quarter(uint32_t *s, int a, int b, int c, int d)
{
	s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 16);
	s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 12);
	s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 8);
	s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 7);
}

static void chacha20(unsigned char *bytes, size_t size, const unsigned char *key, uint32_t counter)
{
	uint32_t start[16] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 }, s[16];
	memcpy(start + 4, key, 32);
	start[12] = counter;
	for (size_t at = 0; at < size; at++) {
		if (at % 64 == 0) {
			memcpy(s, start, sizeof s);
			for (int i = 0; i < 10; i++) {
				for (int j = 0; j < 4; j++)
					quarter(s, j, j + 4, j + 8, j + 12);
				for (int j = 0; j < 4; j++)
					quarter(s, j, (j + 1) % 4 + 4, (j + 2) % 4 + 8, (j + 3) % 4 + 12);
			}
			for (int i = 0; i < 16; i++)
				s[i] += start[i];
			start[12]++;
		}
		bytes[at] ^= s[at % 64 / 4] >> at % 4 * 8;
	}
}

/* The keys of the RFC's example (section 6.1), and what they agree on. */
static const unsigned char alice[32] = {
	0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1, 0x72, 0x51, 0xb2, 0x66, 0x45,
	0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0, 0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a,
};
static const unsigned char bob[32] = {
	0x5d, 0xab, 0x08, 0x7e, 0x62, 0x4a, 0x8a, 0x4b, 0x79, 0xe1, 0x7f, 0x8b, 0x83, 0x80, 0x0e, 0xe6,
	0x6f, 0x3b, 0xb1, 0x29, 0x26, 0x18, 0xb6, 0xfd, 0x1c, 0x2f, 0x8b, 0x27, 0xff, 0x88, 0xe0, 0xeb,
};
static const unsigned char agreed[4] = { 0x4a, 0x5d, 0x9d, 0x5b };

static void put(const unsigned char *bytes)
{
#ifdef OUTPUT
	FILE *file = fopen(OUTPUT, "wb");
	if (!file)
		exit(4);
	for (int i = 0; i < SIZE; i++)
		putc(bytes[i], file);
	fclose(file);
#else
	(void)bytes;
#endif
}

static uint32_t kernel(void)
{
	static unsigned char text[SIZE];
	const unsigned char base[32] = { 9 };
	unsigned char one[32], two[32], first[32], second[32];
	uint32_t all = 2166136261u;
	for (int i = 0; i < SIZE; i++)
		text[i] = "public keys "[i % 12];
	for (int i = 0; i < 10; i++) {
		x25519(one, alice, base);
		x25519(two, bob, base);
		x25519(first, alice, two);
		x25519(second, bob, one);
		if (memcmp(first, second, 32) || memcmp(first, agreed, sizeof agreed))
			exit(1);
	}
	chacha20(text, SIZE, first, 1);
	put(text);
	all = hash(all, text, SIZE);
	chacha20(text, SIZE, second, 1);
	put(text);
	for (int i = 0; i < SIZE; i++)
		if (text[i] != (unsigned char)"public keys "[i % 12])
			exit(2);
	return all;
}
