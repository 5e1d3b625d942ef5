#include "loss.hpp"

#include <gtest/gtest.h>

TEST(orders, a_holder_is_told_of_its_loss)
{
    EXPECT_EQ(why_it_is_lost(), colock::condition::lock_lost);
}
