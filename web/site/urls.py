"""Addresses of the home page and its files, and beginnings of addresses that several nouns share."""

from __future__ import annotations

from django.urls import path

from web.site import home, sitemap

AGENT = "environments/<slug:slug>/agents/<str:name>/"
EDITION = "environments/<slug:slug>/editions/<int:edition>/"

pages = [
    path("", home.home, name="home"),
    path("favicon.ico", home.icon, name="icon"),
    path("robots.txt", home.robots, name="robots"),
    path("sitemap.xml", sitemap.sitemap, name="sitemap"),
]
