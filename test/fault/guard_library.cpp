// What guard_with_library.cpp needs.
extern "C" void colock_part_of_guard()
{
}
