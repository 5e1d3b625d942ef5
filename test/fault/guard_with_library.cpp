// A module for the helper of session guards that needs another library.
extern "C" void colock_part_of_guard();

extern "C" void colock_end_sessions()
{
    colock_part_of_guard();
}
