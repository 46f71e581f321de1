// A failing launch unwinds by longjmp and leaks what its body had made; the ABI says so. The leak detector would report every
// test of a failure, so it is off here.

extern "C" const char *__asan_default_options() { return "detect_leaks=0"; }
