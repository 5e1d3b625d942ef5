// The mechanisms of Cyrus SASL.
#include "names/shown.hpp"
#include "zk/sasl_mechanism.hpp"
#include "zk/secret.hpp"

#include <sasl/sasl.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace colock::zk {

namespace {

// Cyrus SASL calls each by the type that its number stands for.
template <class Function>
auto as_callback(Function* function) noexcept
{
    return reinterpret_cast<int (*)()>(reinterpret_cast<void (*)()>(function));
}

// Cyrus SASL locks nothing unless it is given locks, before its first call.
std::string begin_to_use_cyrus()
{
    static const int result = [] {
        ::sasl_set_mutex([]() -> void* { return new (std::nothrow) std::mutex; },
                         [](void* m) {
                             static_cast<std::mutex*>(m)->lock();
                             return SASL_OK;
                         },
                         [](void* m) {
                             static_cast<std::mutex*>(m)->unlock();
                             return SASL_OK;
                         },
                         [](void* m) { delete static_cast<std::mutex*>(m); });
        return ::sasl_client_init(nullptr);
    }();
    return result == SASL_OK ? "" : ::sasl_errstring(result, nullptr, nullptr);
}

class cyrus_mechanism final : public sasl_mechanism {
public:
    explicit cyrus_mechanism(sasl_terms&& terms)
        : terms_{std::move(terms)}, password_(header + terms_.secret.size() + 1)
    {
        auto* const secret = as_secret();
        secret->len = terms_.secret.size();
        std::memcpy(secret->data, terms_.secret.c_str(), terms_.secret.size() + 1);
        wipe(terms_.secret);
    }
    ~cyrus_mechanism() override
    {
        ::sasl_dispose(&connection_);
        ::explicit_bzero(password_.data(), password_.size());
    }

    [[nodiscard]] const std::string& name() const noexcept override { return terms_.mechanism; }

    [[nodiscard]] sasl_word begin() override
    {
        if (auto why = begin_to_use_cyrus(); !why.empty()) {
            return {.fault = std::move(why)};
        }
        int result = ::sasl_client_new(terms_.service.c_str(), terms_.server_name.c_str(), nullptr,
                                       nullptr, callbacks_.data(), 0, &connection_);
        if (result != SASL_OK) {
            return {.fault = ::sasl_errstring(result, nullptr, nullptr)};
        }
        // Who the client is, and nothing else: TLS is what keeps the connection secret.
        ::sasl_security_properties_t properties{};
        result = ::sasl_setprop(connection_, SASL_SEC_PROPS, &properties);
        const char* token = nullptr;
        unsigned size = 0;
        if (result == SASL_OK) {
            result = ::sasl_client_start(connection_, terms_.mechanism.c_str(), nullptr, &token,
                                         &size, nullptr);
        }
        return word_of(result, token, size);
    }

    [[nodiscard]] sasl_word answer(std::string_view challenge) override
    {
        const char* token = nullptr;
        unsigned size = 0;
        const int result =
            ::sasl_client_step(connection_, challenge.data(),
                               static_cast<unsigned>(challenge.size()), nullptr, &token, &size);
        return word_of(result, token, size);
    }

private:
    static constexpr std::size_t header = offsetof(sasl_secret_t, data);

    [[nodiscard]] sasl_secret_t* as_secret() noexcept
    {
        return reinterpret_cast<sasl_secret_t*>(password_.data());
    }

    [[nodiscard]] sasl_word word_of(int result, const char* token, unsigned size) const
    {
        if (result != SASL_OK && result != SASL_CONTINUE) {
            constexpr std::size_t most = 400; // a part of it may be the server's
            return {.fault = protocol::shown(::sasl_errdetail(connection_), most)};
        }
        return {.token = token == nullptr ? std::string{} : std::string(token, size),
                .complete = result == SASL_OK};
    }

    static int say_user(void* self, int which, const char** text, unsigned* size)
    {
        const auto& terms = static_cast<cyrus_mechanism*>(self)->terms_;
        // It acts as nobody but itself.
        *text = which == SASL_CB_AUTHNAME ? terms.user.c_str() : "";
        if (size != nullptr) {
            *size = static_cast<unsigned>(std::strlen(*text));
        }
        return SASL_OK;
    }
    static int say_secret(sasl_conn_t*, void* self, int, sasl_secret_t** secret)
    {
        *secret = static_cast<cyrus_mechanism*>(self)->as_secret();
        return SASL_OK;
    }
    static int choose_realm(void* self, int, const char** offered, const char** chosen)
    {
        const auto& realm = static_cast<cyrus_mechanism*>(self)->terms_.realm;
        *chosen =
            !realm.empty() || offered == nullptr || *offered == nullptr ? realm.c_str() : *offered;
        return SASL_OK;
    }

    sasl_terms terms_;
    std::vector<std::byte> password_; // a sasl_secret_t
    sasl_conn_t* connection_ = nullptr;
    std::array<sasl_callback_t, 5> callbacks_{{
        {SASL_CB_USER, as_callback(&say_user), this},
        {SASL_CB_AUTHNAME, as_callback(&say_user), this},
        {SASL_CB_PASS, as_callback(&say_secret), this},
        {SASL_CB_GETREALM, as_callback(&choose_realm), this},
        {SASL_CB_LIST_END, nullptr, nullptr},
    }};
};

} // namespace

bool speaks_sasl() noexcept
{
    return true;
}

std::shared_ptr<sasl_mechanism> make_sasl_mechanism(sasl_terms terms)
{
    auto made = std::make_shared<cyrus_mechanism>(std::move(terms));
    wipe(terms.secret); // NOLINT(bugprone-use-after-move): a short one stays in the string
    return made;
}

} // namespace colock::zk
