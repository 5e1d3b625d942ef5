// Which temporary objects the compiler destroys twice when they are made within a co_await expression.
// docs/compatibility.md tells users how to write instead; the second case fails when a compiler has been mended, and the
// rules can go.
#include <colock/lock_options.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace colock::test::coroutine_temporaries_test {

namespace {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
constexpr bool faulty_compiler = true;
#else
constexpr bool faulty_compiler = false;
#endif

// Knows by its address whether it was made and not yet destroyed. It owns nothing, so that a fault does no harm.
class tracked {
public:
    tracked() { alive().insert(this); }
    tracked(const tracked& other) : tracked{} { check(other); }
    tracked(tracked&& other) noexcept : tracked{} { check(other); }
    tracked& operator=(const tracked&) = default;
    tracked& operator=(tracked&&) = default;
    ~tracked()
    {
        if (alive().erase(this) == 0) {
            ++faults();
        }
    }

    static std::set<const void*>& alive()
    {
        static std::set<const void*> objects;
        return objects;
    }
    static int& faults()
    {
        static int number = 0;
        return number;
    }

private:
    static void check(const tracked& other)
    {
        if (!alive().contains(&other)) {
            ++faults();
        }
    }
};

// Runs until it waits, and is resumed by hand.
struct coroutine {
    struct promise_type {
        coroutine get_return_object()
        {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

// Keeps what it was given while it is awaited, as a deferred operation of Asio does.
template <class... Kept>
struct operation {
    std::tuple<Kept...> kept;

    explicit operation(Kept... k) : kept{std::move(k)...} {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const noexcept { return 1; }
};

struct options { // an aggregate, as client_options
    tracked value = {};
    int number = 0;
};
struct optional_options { // as create_options
    std::optional<tracked> value = {};
    int number = 0;
};
struct constructed {
    explicit constructed(tracked v, int n = 0) : value{std::move(v)}, number{n} {}
    tracked value;
    int number;
};
class list { // as transaction
public:
    list() noexcept = default;
    list& add(tracked t)
    {
        items_.push_back(std::move(t));
        return *this;
    }
    operator std::vector<tracked>() const { return items_; }

private:
    std::vector<tracked> items_;
};
class pack { // as multi_lock
public:
    pack(tracked a, tracked b) : items_{std::move(a), std::move(b)} {}
    operation<std::vector<tracked>> wait() const { return operation{items_}; }

private:
    std::vector<tracked> items_;
};

template <class F>
auto run_body(F&& body)
{
    return operation<std::decay_t<F>>{std::forward<F>(body)};
}
auto by_value(options o)
{
    return operation{std::move(o)};
}
auto by_reference(const options& o)
{
    return operation{o};
}
auto optionally(optional_options o = {})
{
    return operation{std::move(o)};
}
auto take(constructed c)
{
    return operation{std::move(c)};
}
auto take(tracked t)
{
    return operation{std::move(t)};
}
auto take_list(std::vector<tracked> all)
{
    return operation{std::move(all)};
}
options made_by_function(const tracked& t)
{
    return {.value = t};
}
class made_of_options { // as client
public:
    made_of_options(int, options o) : options_{std::move(o)} {}

private:
    options options_;
};

#define SHAPE(name, ...)                                                                           \
    {                                                                                              \
        name, [](const tracked& t) -> coroutine {                                                  \
            static_cast<void>(t);                                                                  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

struct shape {
    std::string name;
    coroutine (*run)(const tracked&);
};

const std::vector<shape> good_shapes
{
    SHAPE("lambda that captures by reference", co_await run_body([&] { return &t; });),
        SHAPE(
            "lambda with a name", const auto body = [t] { return &t; }; co_await run_body(body);),
        SHAPE(
            "lambda with a name, moved", auto body = [t] { return &t; };
            co_await run_body(std::move(body));),
        SHAPE(
            "lambda with a name, by std::ref", auto body = [t] { return &t; };
            co_await run_body(std::ref(body));),
        SHAPE("lambda in an operation with a name", auto op = run_body([t] { return &t; });
              co_await op;),
        SHAPE("options with a name", const options o{.value = t}; co_await by_value(o);),
        SHAPE("options from a function", co_await by_value(made_by_function(t));),
        SHAPE("optional options, left out", co_await optionally();),
        SHAPE("optional options without the option", co_await optionally({.number = 1});),
        SHAPE("object with a constructor", co_await take(constructed{t, 1});),
        SHAPE("list of steps", co_await take_list(list{}.add(t).add(tracked{}));),
        SHAPE("pack", co_await pack{t, tracked{}}.wait();),
        SHAPE("object of options in braces, executor before it",
              const int executor = co_await take(t);
              made_of_options made{executor, {.value = t}};),
        SHAPE("object of options with a name", const options o{.value = t};
              made_of_options made{co_await take(t), o};),
};

// What GCC 12 compiles wrongly.
const std::vector<shape> bad_shapes
{
    SHAPE("lambda that captures by value", co_await run_body([t] { return &t; });),
        SHAPE("lambda with a capture of its own",
              co_await run_body([u = tracked{}] { return &u; });),
        SHAPE("options in braces", co_await by_value({.value = t});),
        SHAPE("options in braces, for a reference", co_await by_reference({.value = t});),
        SHAPE("options with a type", co_await by_value(options{.value = t});),
        SHAPE("optional options with the option", co_await optionally({.value = t});),
        SHAPE("array", co_await run_body(std::array<tracked, 2>{t, t});),
        SHAPE("result of ?:", co_await take(tracked::faults() > 9 ? tracked{} : t);),
        SHAPE("object of options in braces", made_of_options made{co_await take(t), {.value = t}};),
};

bool destroys_twice(const shape& s)
{
    tracked::faults() = 0;
    tracked::alive().clear();
    {
        const tracked t;
        const auto running = s.run(t);
        while (!running.handle.done()) {
            running.handle.resume();
        }
        running.handle.destroy();
    }
    return tracked::faults() != 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(coroutine_temporaries)

BOOST_AUTO_TEST_CASE(what_the_documentation_recommends_is_destroyed_once)
{
    for (const auto& s : good_shapes) {
        BOOST_TEST(!destroys_twice(s), s.name);
        BOOST_TEST(tracked::alive().empty(), s.name);
    }
}

BOOST_AUTO_TEST_CASE(what_the_documentation_forbids_is_destroyed_twice_by_gcc_12_alone)
{
    for (const auto& s : bad_shapes) {
        BOOST_TEST(destroys_twice(s) == faulty_compiler, s.name);
    }
}

// What the library's own options do about it. Their texts are too long for a string without memory of its own: the heap
// notices what is freed twice.
class lock { // as mutex
public:
    lock(int, colock::lock_options o) : options_{std::move(o)} {}
    auto wait() const { return operation{options_}; }

private:
    colock::lock_options options_;
};
auto take_options(const colock::lock_options& o)
{
    return operation{o};
}

BOOST_AUTO_TEST_CASE(options_of_a_lock_may_be_made_in_braces)
{
    for (const auto& text : {std::string{"short"}, std::string(100, 'x')}) {
        const auto running = [](const std::string& t,
                                std::vector<colock::acl_entry> acl) -> coroutine {
            co_await lock{co_await operation{1}, {.acl = acl, .owner_data = t}}.wait();
            co_await take_options({.layout = {{.prefix = t, .marker = t}}, .owner_data = t});
            const auto op = take_options(colock::lock_options{.acl = acl, .owner_data = t});
            co_await op;
            BOOST_TEST(*std::get<0>(op.kept).owner_data == t);
            BOOST_TEST((*std::get<0>(op.kept).acl == acl));
        }(text, colock::open_acl());
        while (!running.handle.done()) {
            running.handle.resume();
        }
        running.handle.destroy();
    }
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace colock::test::coroutine_temporaries_test
