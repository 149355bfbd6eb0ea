// A shared object without a Duramen module.
extern "C" int answer() { return 42; }
