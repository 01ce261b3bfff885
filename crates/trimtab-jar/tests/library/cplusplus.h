#ifdef __cplusplus
extern "C" {
#endif
int parse(const char *text);
int parse_or(const char *text, int otherwise);
int count_destroyed(void);
#ifdef __cplusplus
}
#endif
