# 1 "/usr/include/other.h" 1
typedef unsigned int size_t;
int elsewhere(void);
# 2 "lib.h" 2
typedef struct db db;
__extension__ typedef long long int wide;
enum kind { A, B };
struct pair { int a; void (*f)(int); };
typedef int (*visit)(void *, int);
typedef struct { int x; } point, *points;
typedef int eight __attribute__((__mode__(__DI__)));
extern "C" {
extern int open_db(const char *name, db **out) __attribute__((nonnull(1)));
double scale(float, double by, wide n);
void each(db *, int (*call)(void *, char **), void *class);
size_t count(const db *d, visit v, enum kind k, unsigned char);
}
int many(const char *format, ...);
static inline int body(int a) { return a; }
const char *text(char names[], java_object o), *second(void);
int by_value(struct pair p);
int (*handler(int))(int);
