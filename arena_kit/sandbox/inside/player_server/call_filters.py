"""The lists of kernel calls as filter programs by machine: zlib, then base64.

Written by `python -m arena_kit.cluster.call_filters`.
"""

FILTERS = {
    "x86_64": (
        "eNpd1nlQVVUcB/Dvxcfy4CEC7yKyy/YgWWMRYq3MLAUxNbfcwEiFJBdEK0G0GXIhU9GaCjIrc6ayxmyatFzKUrSarKzUsLLCpekPx2n6Q4vO"
        "/f7Om3mPN/PmM79zf/d373v33HN+CQBs6msCQ8qBowmQTwHgo6g0YWBAffz0uPt4CnCkXqzrF9PiDOqsEAOrRdsBw6pfiWO0Ah/ScnxAy0re"
        "p6WQPBjvKa3rpcJXxcXYz/Giwr263ljGhaimBZhA8zGO5uXeS2+H5OXiHpqDMTQ78y6pY0/X9Qo4noEKOgrl9DaU0nRXCU2D5N1AHn0SWfR6"
        "0ihdJ5lxEtJpItLoSLhoQlwKjYfkxSGJxiKRxkTFS53wIH1/Tl13BI9HIo4ORyyNQAw1w6OpE5IXjkgahggaGmLqOiGMQ+CkQxFOgxFGHYGh"
        "NAiSF4ih1I5gGuDnkDpBhujrz3FfBFEbAukQ2KkPAvRzNPgcYfjrGBhoMzEAP+b9Bxv995aP1DWvcT7ehCHzIfSmnndOmaf/uOfhMIn/NnQc"
        "I/EN9/FIia+742Q9z92x9Z2ivrfU/DbxF2yVXnnXPPNMXL2CeZZXeAMmLvf/Sfsh9/sHrtLfVYblb5cuy3vh6hTDe0V7n2j7lXkX0U/7VAXL"
        "n1QFywvnL9HzkLxz+IX+iJ/pD99f1HXOMj6LPvodLtBv1ZmW35w5R89A8r7GFzQZp+lXX57S99Wt6x3k+Gn00lM4SXtxnJ48cYiegOR9jt30"
        "M+yixz/t0XW2M/4E3fQYdtKj2EGPHO6ihyF5H2Mb/Qhb6aGDW6ROfItotouODnk+AZ3e8+LAoHmxH97z4l3vefHOPtB92Ezfxkb61psbJN/W"
        "4V1/r3f9N/bI+XvwFH0d6+lrr67Tv38N491op69gLd2FNvpyTyvtgeR1qxXF8iWspi++sEo/lyZdbznHn0cLfQ4r6U400x1dK2gXJG87ltFt"
        "WEq3PvuYrtPAeAua6DNYQjvxKN28qZFuguRtxGK6AYvo0x0LpU6jU8/vUj2/p+r7na2vM5/561BP27GArkUdbWutpa2QvDXW68V1dS594vE5"
        "us4Mxqsxm67CQ7QFs+jK5pm0GZK3AtPpckyjy5Y+qO+rStebxPEmTKVLuAaY6tdPpo0ND9AGSN5i1NBFmEgXPlKt64xjXI8q+jAm0AUYT+tq"
        "76e1kLz5aueznKd2Psu5c8qkTo5LjMrXdYt4fBZK6UyU0Bm4g06fVizz0a/IY35O0fuyGp/sOU9l3KfVxKQaOV6D0XSi2kGZX1XgPc/HD3qP"
        "7vNcXz2uM9bzfbLGQzg+Rq32lndb2yx/TxbjO5EP6QPyIH1ADjXKsvXvyfJYpz2uUzx4vTY4PrpQjhvI1Odn6JwM7/Nz3eeneZ2fnSXHszLT"
        "9PyI0febBOkDXJA+IJWmW8esPsAl+4MLkpeqdnrLFLXTc11NStB1ZJ1J1OvPSETTBETR+LgRkD5A8mLVzs4+QO3sltFRpn6vbPr+HLquPJfh"
        "+nlFqB2ffYDa8dkHhIdC+gDJC9PPJVTt+JbDQoJ1nQBIH+CA9AFB1KF2fvYBgXZIHyB5dvjTAO7hJvz9fHUd+R99dR9p4wZr9QE+1Mcw9HOy"
        "Pu5+wN0HuPvK/wF99QiG"
    ),
    "aarch64": (
        "eNpdlflTVmUUx7+vvTIiOYByHVF/IBckxFxyTQrJtdDJBcytdNTAInEZG7UMYioBFQQtULREcS3RKXWYFlNU3BUtt1RySf2hX/wHnMFzvueh"
        "eS/vnTufOef5Pt97znOf97lxAIJye8DTWuB4HOzXEzjZy5hdbkw4ZYxpNLYNBsjg4YDOf4I68jF+IR+hlvz34RHyIUyHwCFhmHjEo7XE9/Az"
        "8/807nV+j1jPXQSZv4OnjG/jP/LvW4/JWzDdTTwgb+A+ef3aPasvvMEY/Iv5P9FIXhVn5RVxUDZcvkZehukuiVJ5UZTKC+evOJ9zjM+hgTwr"
        "M5RnZIbydP15sh6mOyUK5UlRKE/U1ZtPYo0x7jdjl2O2/tG6vrr+MRbrMOMoi3VZGXe1uLZ5vJPFR5rjHha/0BzrnS73s6amJg8/ITjCpzsQ"
        "qvNQsx9zlPtxgvGPqDPdvuMh9aW7fSL53aF1Wr5Vroed1TZeDetvB/4gt+MoWbXtd7euhxh/z4Y9fIdfyW/ZoIctlYfJSphus3Sg3ISDZEX5"
        "Afe+q5zfHua/QQ25UTpQbsAPZFnpPrIUplvPBjyUYBdZvG6n86lkvBZV5BqpUFmErWRhwRayAKZbLZUpv5bKuC5fVvjfZ77/fX6R5/5nfTPd"
        "PlhljC50zy+m7jOUk5+ijFwpFStXLC8x3zbF/ucsa7FvlsK/bxb7982iHHtPOVhHLpROlR9nF7k68hl/hELyQ+lUuUA6VWZlfkVmwnQfII+c"
        "j1xy3tzP3ftZ4vyWMz8Hq8jZ0qHyfelM+d6sFeQsmG4mPiFnsDEP06ctdT7ZjN/FEnIqG/OQgUVk+pQccgpMN1k6UE6SDpQT38kynw7Jrr4M"
        "5zuD4+ORSaZJR8q3pSLlW+NmkuNgurGYTo6RSpSjR011PmmMRyKDfFMqUaZiAjkiZTyZAtO9IUrl66JUJg9PdXX1c36DmR+GZHIohpND8Bo5"
        "eNAQchBMN1Au5asYQA7o39/5JDF+Gf3IvnIpX5FL2SepD5kE0/WWS5koMzgvIcF8IqOcn8d8PHqRPd050gOxZPduHcluMN1Lzfs0rH3IeRVy"
        "nnRteW4FmO8ca+OxnaLd8y2PiCj//o9psf/bh56bIc+JDP0faD6S+XbyVVK+GGH+Ee772JYHqofwNq3IgKuLnzL6JPn9/z9/E3x9BDgexri1"
        "TUZTXpib9xyvutrx"
    ),
}
