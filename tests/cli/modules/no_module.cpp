// A shared object that has nothing to do with Duramen.
extern "C" int answer() { return 42; }
